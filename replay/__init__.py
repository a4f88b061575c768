"""The shipped decision on recorded work: loaders, event engine, baselines, optimum, report, sweep."""
