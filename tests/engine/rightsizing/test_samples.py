from __future__ import annotations

from kschedweb.engine.rightsizing.samples import OOM_LEAST, Instance, Peak, UsageSample

DAY = 24


def peaks(*samples: UsageSample) -> list[Peak]:
    return Instance(DAY).add_samples(samples).peaks


def test_an_interval_keeps_its_peak_at_its_end() -> None:
    peak_list = peaks(
        *(UsageSample(time, memory=memory) for time, memory in ((100, 5), (110, 3), (123, 9), (124, 4), (180, 6)))
    )
    assert peak_list == [Peak(124, 5, 0), Peak(124, 9, 5), Peak(148, 4, 0), Peak(196, 6, 0)]


def test_an_interval_that_begins_with_nothing_keeps_it() -> None:
    assert peaks(UsageSample(0, memory=0), UsageSample(1, memory=50)) == [Peak(DAY, 0, 0)]


def test_cpu_must_come_later_memory_not_earlier() -> None:
    instance = Instance(DAY).add_samples(
        [UsageSample(5, cpu=1, memory=1), UsageSample(5, cpu=2, memory=2), UsageSample(4, cpu=3, memory=3)]
    )
    assert instance.cpu == [(5, 1)]
    assert instance.peaks == [Peak(29, 1, 0), Peak(29, 2, 1)]
    assert instance.discarded == 3


def test_amounts_below_0_are_discarded() -> None:
    instance = Instance(DAY).add_samples([UsageSample(5, cpu=-1, memory=-1)])
    assert (instance.cpu, instance.peaks, instance.discarded) == ([], [], 2)


def test_a_kill_counts_as_more_than_what_was_used_or_asked_for() -> None:
    little, much = 7, 10 * OOM_LEAST
    assert peaks(UsageSample(0, memory=3), UsageSample(1, oom=little))[-1] == Peak(DAY, little + OOM_LEAST, 3)
    assert peaks(UsageSample(0, memory=much), UsageSample(1, oom=little))[-1] == Peak(DAY, 12 * OOM_LEAST, much)


def test_a_second_kill_does_not_build_on_the_first() -> None:
    assert len(peaks(UsageSample(0, oom=5), UsageSample(1, oom=5))) == 1


def test_a_kill_may_be_late_by_an_interval() -> None:
    instance = Instance(DAY).add_samples([UsageSample(100, memory=1), UsageSample(76, oom=5), UsageSample(40, oom=9)])
    assert instance.peaks == [Peak(124, 1, 0), Peak(124, 5 + OOM_LEAST, 1)]
    assert instance.discarded == 1
