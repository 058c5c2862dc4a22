package generated

import _ "embed"

// What generated programs are built with.
var (
	//go:embed program/gen.c
	genC string
	//go:embed program/gen.h
	genH string
)
