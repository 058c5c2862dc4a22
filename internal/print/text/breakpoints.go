package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Breakpoints prints the locations of each runtime, and the next command; with sites, also the places where the
// runtime decides whether to reach them.
func Breakpoints(p *Printer, b *picture.Breakpoints, sites bool) {
	PrintUnread(p, "BREAKPOINTS", b.Runtimes)
	for _, rt := range b.Runtimes {
		list := locationsOf(b, rt.ID)
		if len(list) == 0 {
			continue
		}
		found, named, active := 0, false, false
		for _, l := range list {
			if l.Address != nil {
				found++
			}
			if l.Source == equivalent || l.Name == "ompd_dll_locations_valid" { // they are always active
				continue
			}
			named = named || l.Address != nil
			active = active || l.Active
		}
		p.printHeading("BREAKPOINTS", fmt.Sprintf("%s %s: %d of %d locations", rt.Name, rt.Version, found, len(list)))
		printBreakpointTable(p, list, sites)
		if named && !active {
			p.printLine("")
			p.printWrapped("  "+p.amber("!")+" ", "the program was not started with OMP_DEBUG=enabled: its threads do "+
				"not reach these functions; they do reach the sites (--sites), at every event")
		}
	}
	printNextBreak(p, b)
	Warnings(p, &picture.Picture{Warnings: b.Warnings})
}

// equivalent is the source of a location that replaces another one.
const equivalent = "equivalent"

// locationsOf returns the locations of one runtime.
func locationsOf(b *picture.Breakpoints, id string) []picture.Breakpoint {
	var out []picture.Breakpoint
	for _, l := range b.Locations {
		if l.Runtime == id {
			out = append(out, l)
		}
	}
	return out
}

// printBreakpointTable prints the locations of one runtime, and their sites.
func printBreakpointTable(p *Printer, list []picture.Breakpoint, sites bool) {
	t := &table{head: []string{"NAME", "ADDRESS", "HOW", "SITES", "2013", "PROOF"}}
	for _, l := range list {
		at, how, proof, n := "-", l.Source, l.Evidence, ""
		if l.Address != nil {
			at = l.Address.String()
		} else {
			proof = p.dim(l.Error)
		}
		if how == equivalent {
			how = p.amber(how)
			proof = l.Function + ": " + proof
		}
		if len(l.Sites) > 0 {
			n = strconv.Itoa(len(l.Sites))
		}
		t.add(l.Name, at, how, n, l.Former, proof)
	}
	p.printTable(t)
	if !sites {
		return
	}
	p.printHeading("SITES", "where the runtime decides whether to reach a location, with OMP_DEBUG or without")
	for _, l := range list {
		var at []string
		for _, s := range l.Sites {
			at = append(at, s.String())
		}
		if len(at) > 0 {
			p.printWrapped("  "+l.Name+"  ", strings.Join(at, " "))
		}
	}
}

// printNextBreak prints a command that uses a location.
func printNextBreak(p *Printer, b *picture.Breakpoints) {
	for _, l := range b.Locations {
		if l.Address == nil || l.Former == "" || b.Target.Kind != picture.TargetProcess {
			continue
		}
		at := l.Address
		if !l.Active && len(l.Sites) > 0 {
			at = &l.Sites[0]
		}
		p.printLine("")
		p.printf("  next: gdb -p %d -ex 'break *%v'", b.Target.PID, at)
		return
	}
}
