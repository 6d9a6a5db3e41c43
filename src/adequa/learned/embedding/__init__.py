"""SVR and RUSE: regressors over sentence embeddings."""
