//! What the model can do: the tool contract, the registry and the built-in tools.
