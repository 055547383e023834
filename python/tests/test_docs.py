"""What docs/python.md shows is what Python answers."""

from __future__ import annotations

import doctest
import unittest

from support import SOURCE, InFolder


class Page(InFolder):
    def test_every_example_of_the_page(self) -> None:
        failed, run = doctest.testfile(str(SOURCE / "docs/python.md"), module_relative=False,
                                       optionflags=doctest.NORMALIZE_WHITESPACE)
        self.assertGreater(run, 10)
        self.assertEqual(failed, 0)


if __name__ == "__main__":
    unittest.main()
