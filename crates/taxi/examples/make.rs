//! Makes a quarter and describes it: `make OUT [SCALE]`.

use std::path::Path;
use std::time::Instant;

use partwise_taxi::{Progress, describe, generate, measure};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().ok_or("usage: make OUT [SCALE]")?;
    let scale = arguments.next().map_or(Ok(1.0), |scale| scale.parse())?;
    let start = Instant::now();
    let made = generate(Path::new(&out), scale, Progress::Bar)?;
    println!("made {} bytes in {:.1} s\n", made.bytes, start.elapsed().as_secs_f64());
    println!("{}", describe(Path::new(&out))?);
    let measured = measure(Path::new(&out))?;
    println!("{measured:#?}");
    if measured != made.figures {
        return Err(format!("the figures differ: {:#?} was to be made", made.figures).into());
    }
    Ok(())
}
