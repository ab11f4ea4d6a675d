"""A group of pods as it is tried: alone, or as a tree of composite groups whose leaves have the pods."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class GroupTree:
    """A group with the groups below it, and of a leaf the pods without a node."""

    group: PodGroup
    # In the order in which they are tried; empty for a group of pods.
    children: tuple[GroupTree, ...] = ()
    # In the order in which they are tried; empty for a composite group.
    pods: tuple[Pod, ...] = ()

    def walk(self) -> Iterator[GroupTree]:
        """Yield the tree itself, then each tree below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def leaves(self) -> list[GroupTree]:
        """The groups of pods, in the order in which they are tried."""
        return [tree for tree in self.walk() if not tree.group.is_composite]

    @property
    def all_pods(self) -> tuple[Pod, ...]:
        """The pods of all leaves, in the order in which they are tried."""
        return tuple(pod for leaf in self.leaves for pod in leaf.pods)
