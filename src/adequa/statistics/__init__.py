"""Pure functions on arrays: correlation, ranking, resampling and significance tests.

One convention holds in every file:

- `human` and `metric` are arrays whose last axis runs over what was judged; leading axes are
  independent problems (resamples, groups), which broadcast against each other. One-dimensional
  input gives a float.
- `weights` is how often each item counts: by default 1, and 0 for an item that is missing. A
  bootstrap resample is such an array of counts, and unequal groups are padded with zeros.
- Where a statistic is undefined the answer is NaN, never a warning; `correlation.undefined_reason`
  says why in words. NaN and infinities in the input are an error, raised once by
  `segments.check_finite` where data come in, and not in every function.
"""
