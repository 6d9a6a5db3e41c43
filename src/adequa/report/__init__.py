"""Report: results as one HTML file that needs no network and lets no text of users run."""
