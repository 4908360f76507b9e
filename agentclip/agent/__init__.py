"""The loop: prompts come in, events go out. It knows models, both layers and the store; never the screen."""
