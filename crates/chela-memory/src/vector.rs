//! Vectors of whole numbers, and how alike they are.

#![expect(
    clippy::indexing_slicing,
    reason = "a matrix has as many values as rows times dimensions"
)]

mod scan;

/// A vector scaled to length one and written in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantisedVector {
    /// What one step is worth.
    pub scale: f32,
    pub values: Vec<i8>,
}

impl QuantisedVector {
    /// From any vector; the zero vector stays zero and is like nothing.
    pub fn of(vector: &[f32]) -> Self {
        let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
        let largest = vector.iter().fold(0_f32, |most, v| most.max(v.abs()));
        if !length.is_finite() || length == 0.0 || largest == 0.0 {
            return Self {
                scale: 0.0,
                values: vec![0; vector.len()],
            };
        }
        let step = 127.0 / largest;
        let values = vector.iter().map(|v| (v * step).round() as i8).collect();
        Self {
            scale: 1.0 / (step * length),
            values,
        }
    }
}

/// The vectors of one segment under one model, row by row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VectorMatrix {
    pub dimensions: usize,
    pub scales: Vec<f32>,
    /// Signed bytes, kept unsigned because that is how they are stored.
    pub values: Vec<u8>,
}

impl VectorMatrix {
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            scales: Vec::new(),
            values: Vec::new(),
        }
    }

    pub fn rows(&self) -> usize {
        self.scales.len()
    }

    /// Appends a row. A vector of other dimensions counts as missing.
    pub fn push(&mut self, vector: &QuantisedVector) {
        if vector.values.len() == self.dimensions {
            self.scales.push(vector.scale);
            self.values.extend(vector.values.iter().map(|v| *v as u8));
        } else {
            self.scales.push(0.0);
            self.values.resize(self.values.len() + self.dimensions, 0);
        }
    }

    /// Appends a row of another matrix of the same dimensions.
    pub fn push_row(&mut self, other: &Self, row: usize) {
        self.scales.push(other.scales[row]);
        let from = row * other.dimensions;
        self.values.extend_from_slice(
            other
                .values
                .get(from..from + other.dimensions)
                .unwrap_or_default(),
        );
    }

    /// A row as numbers, of length one.
    pub fn row(&self, row: usize) -> impl Iterator<Item = f32> + '_ {
        let from = row * self.dimensions;
        let scale = self.scales[row];
        self.values[from..from + self.dimensions]
            .iter()
            .map(move |value| f32::from(*value as i8) * scale)
    }

    /// Writes the cosine of each row with the query into `cosines`.
    pub fn cosines(&self, query: &QuantisedVector, cosines: &mut [f32]) {
        if query.values.len() != self.dimensions || self.dimensions == 0 {
            cosines.fill(0.0);
            return;
        }
        let rows = scan::MatrixRows {
            dimensions: self.dimensions,
            values: &self.values,
            scales: &self.scales,
        };
        scan::cosines(rows, query, cosines);
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + self.rows() * (4 + self.dimensions));
        bytes.extend_from_slice(&(self.dimensions as u32).to_le_bytes());
        bytes.extend(self.scales.iter().flat_map(|scale| scale.to_le_bytes()));
        bytes.extend_from_slice(&self.values);
        bytes
    }

    /// `None` when the bytes are not `rows` vectors.
    pub fn from_bytes(mut bytes: Vec<u8>, rows: usize) -> Option<Self> {
        let dimensions = u32::from_le_bytes(*bytes.first_chunk::<4>()?) as usize;
        let start = 4 + 4 * rows;
        if bytes.len() != start + rows.checked_mul(dimensions)? {
            return None;
        }
        let (scales, _) = bytes.get(4..start).unwrap_or_default().as_chunks::<4>();
        let scales = scales
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        bytes.drain(..start);
        Some(Self {
            dimensions,
            scales,
            values: bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{QuantisedVector, VectorMatrix};

    #[test]
    fn cosines_survive_quantising() {
        let a: Vec<f32> = (0..256).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
        let b: Vec<f32> = (0..256).map(|i| ((i * 53) % 97) as f32 - 40.0).collect();
        let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>();
        let truth = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
        let mut matrix = VectorMatrix::new(256);
        matrix.push(&QuantisedVector::of(&b));
        matrix.push(&QuantisedVector::of(&[0.0; 256]));
        matrix.push(&QuantisedVector::of(&a));
        let mut cosines = [9.0; 3];
        matrix.cosines(&QuantisedVector::of(&a), &mut cosines);
        assert!((cosines[0] - truth).abs() < 0.01, "{} {truth}", cosines[0]);
        assert_eq!(cosines[1], 0.0);
        assert!((cosines[2] - 1.0).abs() < 0.01);
        assert_eq!(
            VectorMatrix::from_bytes(matrix.to_bytes(), 3),
            Some(matrix.clone())
        );
        assert_eq!(VectorMatrix::from_bytes(matrix.to_bytes(), 2), None);
    }

    #[test]
    fn other_dimensions_count_as_missing() {
        let mut matrix = VectorMatrix::new(3);
        matrix.push(&QuantisedVector::of(&[1.0, 2.0]));
        matrix.push(&QuantisedVector::of(&[1.0, 2.0, 2.0]));
        let mut cosines = [9.0; 2];
        matrix.cosines(&QuantisedVector::of(&[1.0, 2.0, 2.0]), &mut cosines);
        assert_eq!(cosines[0], 0.0);
        assert!((cosines[1] - 1.0).abs() < 0.01);
        matrix.cosines(&QuantisedVector::of(&[1.0]), &mut cosines);
        assert_eq!(cosines, [0.0, 0.0]);
    }
}
