fn main() {
    let start = std::time::Instant::now();
    let v = chela_config::schema();
    println!("schema first {:?} bytes {}", start.elapsed(), v.to_string().len());
}
