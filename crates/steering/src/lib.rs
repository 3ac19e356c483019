//! What the model is told: prompts, context and the composition of requests.
