"""Protection methods: frozen, validated parameters that describe what they do."""
