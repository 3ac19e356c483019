//! Test support: the scripted model server and session harnesses.
