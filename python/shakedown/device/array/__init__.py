"""Real arrays, made of whole drives under the guard: Linux md through mdadm, ZFS through zpool."""
