"""Hidden checks compare observations and explain differences, with assertions and messages.

* `assert_close` has a floor. An element is compared relative to itself or to a hundredth of the largest
  element, whichever is larger: rounding noise around zero is no error, and a small gradient beside large ones
  still counts.
* A sentence about numbers follows from the numbers, so it is certain, and it never shows an expected value.
  What is only likely is asked as a question.
"""
