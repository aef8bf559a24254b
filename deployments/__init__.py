"""Where: recipes, engines, expectations, automations, and what puts them in place."""
