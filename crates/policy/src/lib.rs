//! May this happen? A pure function from declared access to a decision.
