// Brings the definition of a NicClusterPolicy; nothing is built from it. Of the Network Operator's releases the
// registry serves this one alone; ofedDriver has had version and upgradePolicy since.
module seatrial.dev/testbed/network-operator

go 1.25.0

require github.com/Mellanox/network-operator v1.4.0
