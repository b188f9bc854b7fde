import numpy as np
import pytest
from halfstep._samples import Slices, as_samples

import halfstep


@pytest.fixture(scope="module")
def inputs(two_input_proto):
    return halfstep.sample_inputs(halfstep.load(two_input_proto))


@pytest.fixture(scope="module")
def image_input(conv_proto):
    return halfstep.sample_inputs(halfstep.load(conv_proto))


def test_one_dimension_more_than_the_input(image_input, images):
    slices = as_samples(images, image_input)
    assert len(slices) == 6
    np.testing.assert_array_equal(slices[2]["image"], images[2])
    assert np.shares_memory(slices[2]["image"], images)


def test_the_rank_of_the_input(image_input, images):
    slices = as_samples(images[:, 0], image_input)
    assert len(slices) == 6
    assert slices[5]["image"].shape == (1, 3, 8, 8)
    assert [s["image"].shape for s in slices] == [(1, 3, 8, 8)] * 6


def test_arrays_by_name(inputs):
    data = {"left": np.zeros((3, 2, 4), np.float32), "right": np.ones((3, 2, 4), np.float32)}
    slices = as_samples(data, inputs)
    assert len(slices) == 3
    assert sorted(slices[0]) == ["left", "right"]
    assert [s["right"].shape for s in slices[1:]] == [(2, 4)] * 2


def test_other_forms_pass_untouched(inputs):
    for calibration in (None, "folder", iter([])):
        assert as_samples(calibration, inputs) is calibration


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((3, 2, 4), np.float32), "one array for 2 inputs"),
        ({"lfet": np.zeros((3, 2, 4), np.float32)}, "no input 'lfet'"),
        ({"left": np.zeros(4, np.float32)}, "expected rank 3"),
        ({"left": np.zeros((3, 2, 4)), "right": np.zeros((2, 2, 4))}, "numbers of samples differ"),
        ({}, "no arrays"),
    ],
)
def test_arrays_that_do_not_fit(inputs, data, message):
    with pytest.raises(halfstep.InvalidArgument, match=message):
        as_samples(data, inputs)


def test_slices_end(inputs):
    slices = Slices({"left": np.zeros((2, 2, 4))}, inputs)
    with pytest.raises(IndexError):
        slices[2]
    assert slices[-1]["left"].shape == (2, 4)
