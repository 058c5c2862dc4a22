// Package job joins the results of all ranks of an MPI job into one page: classes of ranks and threads that are
// at the same place, and verdicts across ranks.
//
// It contains only data, and knows neither engines nor targets: a rank's picture becomes an Answer (Classify),
// answers become a Part, and Parts are merged. The merge is a union by rank: the result does not depend on the
// order and the tree of merges, and a part may be merged more than once. So each node of a cluster can merge
// its ranks, and the machine that asked can merge the nodes' parts.
//
// A Part is sent to other machines as a line of text (Encode, Decode). Received parts are not trusted: each
// size in them has a limit.
package job
