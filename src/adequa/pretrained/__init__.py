"""The metric that ships with adequa: trained weights, and the class that scores with them."""
