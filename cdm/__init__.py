"""CDM (Lu et al., ICML 2024): the contrast of an amateur and an expert model, as metric and as source of negatives."""
