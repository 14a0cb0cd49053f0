mod bodies;
mod streams;
