//! Child processes in custody: started only with a permit, drained, and surely ended.
