"""ImageLocality: where the pod's images already are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.builders import explain, node, normalized_scores, pod, raw_scores

NAME = "ImageLocality"


def image(mebibytes: int, *names: str) -> dict:
    return {"names": list(names or ("registry.example/app:v1",)), "sizeBytes": mebibytes * 2**20}


@pytest.mark.parametrize(("mebibytes", "score"), [(23, 0), (33, 1), (300, 28), (1000, 100), (5000, 100)])
def test_scores_lie_between_23_and_1000_mebibytes_a_container(mebibytes: int, score: int) -> None:
    assert normalized_scores(explain(pod("p"), node("n", images=[image(mebibytes)])), NAME) == [score]


def test_an_image_counts_by_the_share_of_nodes_that_hold_it() -> None:
    nodes = [node("a", images=[image(600)]), node("b", images=[image(600)]), node("c"), node("d")]
    assert raw_scores(explain(pod("p"), *nodes), NAME) == [28, 28, 0, 0]
    # Held by half as many, its 600 MiB count for 150 and no longer for 300.
    assert raw_scores(explain(pod("p"), nodes[0], node("b"), *nodes[2:]), NAME) == [12, 0, 0, 0]


def test_each_container_raises_the_bound_and_an_image_counts_each_time() -> None:
    def using(*containers: str, init: str = "") -> dict:
        listed = [{"name": f"c{place}", "image": name} for place, name in enumerate(containers)]
        return pod("p", containers=listed, initContainers=[{"name": "i", "image": init}] if init else [])

    big = node("n", images=[image(600, "app:v1")])
    assert raw_scores(explain(using("app:v1"), big), NAME) == [59]
    assert raw_scores(explain(using("app:v1", "other"), big), NAME) == [29]
    assert raw_scores(explain(using("app:v1", "app:v1"), big), NAME) == [59]
    assert raw_scores(explain(using("other", init="app:v1"), big), NAME) == [29]


@pytest.mark.parametrize(
    ("pod_image", "image_on_node", "is_local"),
    [
        ("app", "app:latest", True),
        ("registry:5000/app", "registry:5000/app:latest", True),
        ("app:v1", "app:v2", False),
        ("app@sha256:0", "app@sha256:0", True),
    ],
)
def test_a_name_without_a_tag_means_latest(pod_image: str, image_on_node: str, is_local: bool) -> None:
    answer = explain(pod("p", container={"image": pod_image}), node("n", images=[image(1000, "id", image_on_node)]))
    assert raw_scores(answer, NAME) == [100 if is_local else 0]


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3000), min_size=2, max_size=4, unique=True))
def test_more_of_the_images_scores_no_less(sizes: list[int]) -> None:
    sizes.sort()
    nodes = [node(f"n{size}", images=[image(size, f"i{size}:v1")]) for size in sizes]
    containers = [{"name": f"c{size}", "image": f"i{size}:v1"} for size in sizes]
    scores = raw_scores(explain(pod("p", containers=containers), *nodes), NAME)
    assert scores == sorted(scores)
    assert all(0 <= score <= 100 for score in scores)
