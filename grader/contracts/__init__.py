"""Hidden checks compare observations and explain differences, with assertions and messages.

* `assert_close` has a floor. An element is compared relative to itself or to a hundredth of the largest
  element, whichever is larger: rounding noise around zero is not an error, and a small gradient beside large
  ones still counts.
* A sentence about numbers is derived from the numbers, so it is certain, and it never shows an expected
  value. A likely cause is phrased as a question.
"""
