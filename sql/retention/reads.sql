-- Records of who read what and who logged in that are older than $before; requests to forget, exports and what was dropped stay.
DELETE FROM ops.audit WHERE action IN ('read', 'login') AND "at" < $before
