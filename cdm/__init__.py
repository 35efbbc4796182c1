"""CDM (Lu et al., ICML 2024): contrasts an amateur and an expert model, to score dialogues and to make bad ones."""
