"""The harnesses of the engines that come with Strongroom, one module each; `UrlHarness` picks them by scheme."""
