// Package job joins what was found of each rank of an MPI job into one page: classes of
// ranks and threads that are in the same place, and verdicts over ranks.
//
// It is pure data and knows neither engines nor targets: a rank's picture becomes an
// Answer (Of), answers become a Part, and Parts merge. The merge is a union by rank:
// whatever the order and the shape of the tree in which parts are merged, and however
// often one of them comes, the result is the same. So each node of a cluster can merge
// its ranks, and whoever asked the nodes' parts.
//
// A Part crosses machines as a line of text (Encode, Decode). What another machine sent is
// not trusted: each size in it has a bound.
package job
