//! The two streams a run writes to, and what goes where.

use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::args::Format;
use crate::status::Result;

/// Standard output, standard error, and the rules for what is said on which.
pub struct Console {
    out: Pipe,
    format: Format,
    quiet: bool,
}

impl Console {
    /// A console on the process's own streams.
    pub fn new(format: Format, quiet: bool) -> Self {
        Self { out: Pipe::stdout(), format, quiet }
    }

    /// The format results are printed in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether only results are printed.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Columns of the terminal that results go to.
    pub fn width(&self) -> usize {
        usize::from(console::Term::stdout().size().1)
    }

    /// Whether what comes and goes on standard error is seen by somebody.
    pub fn shows_progress(&self) -> bool {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        !self.quiet && !dumb && io::stderr().is_terminal()
    }

    /// Sends results elsewhere and gives what they went to.
    pub fn redirect(&mut self, out: Pipe) -> Pipe {
        std::mem::replace(&mut self.out, out)
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Where results go.
    pub fn out(&mut self) -> &mut Pipe {
        &mut self.out
    }

    /// A commit line or what a statement has to say: beside the results where people read them,
    /// on standard error where a program does.
    pub fn notice(&mut self, text: &str) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        match self.format {
            Format::Table => {
                writeln!(self.out, "{text}")?;
                Ok(self.out.flush()?)
            }
            _ => {
                self.complain(text);
                Ok(())
            }
        }
    }

    /// Something to know that isn't a result: `warning: ...` on standard error.
    pub fn warning(&mut self, text: &str) {
        self.complain(&format!("warning: {text}"));
    }

    /// A line on standard error; a closed standard error is nobody's loss.
    pub fn complain(&mut self, text: &str) {
        let _ = self.out.flush();
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}

/// Whether colours are wanted: not with NO_COLOR, not where no terminal is or one without any.
pub fn wants_colours() -> bool {
    let says_no = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    !says_no && !dumb && io::stdout().is_terminal()
}

/// An output that whoever reads it may close early: what is written after that goes nowhere.
pub struct Pipe {
    inner: Box<dyn Write + Send>,
    closed: bool,
}

impl Pipe {
    /// A pipe into any writer.
    pub fn new(inner: impl Write + Send + 'static) -> Self {
        Self { inner: Box::new(inner), closed: false }
    }

    /// The process's standard output, buffered.
    pub fn stdout() -> Self {
        Self::new(io::BufWriter::with_capacity(64 << 10, io::stdout()))
    }

    /// Whether the reader is gone, so that producing more of a result is in vain.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn tolerate<T>(&mut self, done: T, result: io::Result<T>) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                self.inner = Box::new(io::sink());
                Ok(done)
            }
            other => other,
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.tolerate(bytes.len(), result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.tolerate((), result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_left_is_no_error() {
        let mut pipe = Pipe::new(Closed);
        pipe.write_all(b"one").unwrap();
        assert!(pipe.is_closed());
        pipe.write_all(b"two").unwrap();
        pipe.flush().unwrap();
    }
}
