"""Wire formats, one provider per module. Pure: no clock, network, disk or log."""
