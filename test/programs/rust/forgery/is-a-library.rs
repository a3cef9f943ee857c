// What would come of it cannot be executed.
#![crate_type = "lib"]

pub fn nothing() {}
