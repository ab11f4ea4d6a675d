"""Other schedulers asked over HTTP: what they are asked, and what their answers mean."""
