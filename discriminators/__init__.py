"""Text classifiers: attention Bi-LSTM and BERT, trained with Lightning, and guides, which classify prefixes."""
