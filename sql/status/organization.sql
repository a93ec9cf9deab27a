SELECT id, name, slug FROM organizations LIMIT 1
