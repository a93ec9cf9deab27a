-- Records of who read what that are older than $before; requests to forget, exports and what was dropped stay.
DELETE FROM ops.audit WHERE action = 'read' AND "at" < $before
