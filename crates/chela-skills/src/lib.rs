//! What does it know how to do?
