// Package trace reads what the recorder leaves in a program's memory: rings of the last
// OpenMP events of each thread, with what each thread is doing (docs/recorder.md,
// recorder/format.h). It knows the target by callbacks.Memory and its mappings alone, so
// that cores, processes that run, and programs that a debugger holds are read alike. A
// process is not stopped: copies are consistent beside writers at full speed, and what was
// overwritten before it could be read is counted.
//
// Nothing of what is read is trusted: numbers are bounded by the constants of the format,
// and what is damaged is left out and counted.
package trace
