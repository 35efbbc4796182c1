"""Text classifiers with one logit: attention Bi-LSTM and BERT, trained by Lightning from one data module."""
