"""The host below us, on prepared trees and, where a test may, on the kernel it runs on."""
