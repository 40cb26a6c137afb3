2one2	 two  the2été2
go the two