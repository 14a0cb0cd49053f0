//! Cutting text to a limit (placeholder).
