package omptest

import "golang.org/x/sys/unix"

// sysPause is the number of the system call that pause() makes.
const sysPause = unix.SYS_PAUSE
