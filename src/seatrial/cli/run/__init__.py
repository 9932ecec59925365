"""Commands that run something for as long as it takes: the controller, the pacer, a forecast, the demo, a replay."""
