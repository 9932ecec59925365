"""One series out of several strands: end to end, or not at all."""

from seatrial.adapters.prometheus import strands
from seatrial.adapters.prometheus.answers import Strand


def strand(*points: tuple[float, float], instance: str = "10.0.0.1:9400", **labels: str) -> Strand:
    return Strand(labels={"instance": instance, **labels}, points=points)


def test_a_new_driver_a_new_job_and_a_new_address_stay_one_series() -> None:
    found = (
        strand((3.0, 3.0), (4.0, 4.0), driver="580", instance="10.0.0.9:9400"),
        strand((1.0, 1.0), driver="570", pod="a"),
        strand((2.0, 2.0), driver="570", pod="b"),
    )
    assert strands.laid_out(found) == ((1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0))


def test_two_pods_that_share_a_gpu_tell_the_same_twice() -> None:
    found = (strand((1.0, 90.0), (2.0, 95.0), pod="a"), strand((1.0, 90.0), (2.0, 95.0), pod="b"))
    assert strands.laid_out(found) == ((1.0, 90.0), (2.0, 95.0))


def test_two_values_at_one_moment_are_no_value() -> None:
    found = (strand((1.0, 4.0), nvlink="0"), strand((1.0, 5.0), nvlink="1"))
    assert strands.laid_out(found) == "it is 4 and 5 at the same moment, by the labels nvlink"


def test_two_exporters_at_once_are_not_mixed() -> None:
    found = (strand((1.0, 4.0), (3.0, 4.0)), strand((2.0, 5.0), (4.0, 5.0), instance="10.0.0.1:9500"))
    assert "two exporters report it at once" in str(strands.laid_out(found))


def test_the_same_exporter_scraped_by_two_is_read_by_both() -> None:
    found = (strand((1.0, 4.0), (3.0, 4.0), replica="a"), strand((2.0, 4.0), (4.0, 5.0), replica="b"))
    assert strands.laid_out(found) == ((1.0, 4.0), (2.0, 4.0), (3.0, 4.0), (4.0, 5.0))


def test_nothing_is_no_points() -> None:
    assert strands.laid_out(()) == ()
