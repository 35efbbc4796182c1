"""CDM (Lu et al., ICML 2024): the contrast of an amateur and an expert model, as a metric and as a source of negatives."""
