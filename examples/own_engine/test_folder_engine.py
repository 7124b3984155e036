"""The folder engine keeps everything that it claims: one test for each case of the kit."""

from strongroom.conformance import UrlHarness, conformance_tests

test_conformance = conformance_tests(lambda folder: UrlHarness(f"folder:///{folder}/store-{{n}}"))
