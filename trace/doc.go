// Package trace reads the recorder's data in a program's memory: rings of the last OpenMP events of each
// thread, with each thread's current activity (docs/internals/recorder.md, recorder/format.h). It uses only
// callbacks.Memory and the mappings of the target, so that cores, running processes, and programs in a debugger
// are read alike. A process is not stopped: copies are consistent while threads write at full speed, and
// records that were overwritten before they could be read are counted.
//
// The data are not trusted: numbers are bounded by the constants of the format, and damaged parts are left out
// and counted.
package trace
