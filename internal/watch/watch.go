// Package watch says what changed between looks at a process: whether its threads make
// progress. It knows of each look its picture and its trace, and reads nothing itself.
package watch
